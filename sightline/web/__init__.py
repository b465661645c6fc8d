"""Pages in a browser: people judge images, and an owner watches over them."""
