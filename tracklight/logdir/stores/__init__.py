"""What object stores need besides reading: request counts, a request budget, partial listings.

`tracklight.logdir.remote` uses both modules; they know nothing about fsspec. Start reading at
`listing.py`.
"""
