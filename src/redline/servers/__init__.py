"""Servers on this machine: the socket, who may use it, whose it is."""
