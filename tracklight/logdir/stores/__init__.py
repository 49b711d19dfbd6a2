"""What object stores need besides reading: request counts, a budget, partial listings, and
notifications of changes.

`tracklight.logdir.remote` uses these modules; they know nothing about fsspec. Start reading at
`listing.py`.
"""
