"""What ran on devices: how it was launched, in how many bits, on which units."""
