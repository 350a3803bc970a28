"""The sessions on this computer: found, listed, named, remembered."""
