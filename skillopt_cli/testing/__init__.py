"""Public fakes and conformance checks for plug-in authors."""
