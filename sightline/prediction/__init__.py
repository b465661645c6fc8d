"""How hard a prompt will be: predictors, the one that ships, fit and predict."""
