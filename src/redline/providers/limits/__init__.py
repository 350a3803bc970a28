"""How much a provider takes in one request, what gives way where that is exceeded, and what a refusal teaches."""
