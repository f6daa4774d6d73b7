"""Methods for query logs: tokens hashed or shared in secret, users split."""
