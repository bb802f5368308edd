"""Random tables x random queries, with the product on and off in one session, and nothing of the product's to judge by."""
