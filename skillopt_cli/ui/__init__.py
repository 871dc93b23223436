"""Floor 5: subscribers that draw the event stream. They observe and never steer."""
