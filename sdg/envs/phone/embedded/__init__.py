"""The embedded phone: nine small apps in Chromium at phone size. An imitation for development; its figures aren't
AndroidLab's.

Framework7 (MIT, `framework7-LICENSE`) gives the looks. Time passes by actions alone, so equal seeds and actions give
equal screens, byte for byte.
"""
