"""What ops cost, and how close they came to the peak rates of their device.

`costs` counts FLOPs and bytes of ops from their shapes; `rates` has the peak rates of devices, the
points of the roofline and the utilization of the overview.
"""
