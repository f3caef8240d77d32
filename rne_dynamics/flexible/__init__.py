"""Arms with flexible links: the recursive Lagrangian equations of document 003, and what follows from them."""
