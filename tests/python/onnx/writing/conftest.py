"""The modules beside this file can be imported in the tests below."""
