"""Spectra of frames: `pilotlight::spectrum` of `pilotlight.nn`."""
