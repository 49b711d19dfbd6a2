"""Values that are looked at one by one: pictures, clips, texts, histograms, curves, clouds."""
