"""The pages, a file each: what a template is given."""
