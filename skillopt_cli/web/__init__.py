"""The web page: looks at the runs of an outputs folder, starts and steers them."""
