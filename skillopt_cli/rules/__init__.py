"""An optimizer without a model: an analyst that counts evidence. Imports: core, ports, stages."""
