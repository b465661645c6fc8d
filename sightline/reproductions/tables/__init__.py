"""Tables of the papers in their own form, with our rows in them."""
