"""What the operating system offers: cores, and files that appear complete or not at all."""
