try:
    from toolcrib import CribToolset
except ImportError as error:
    print(error, *error.__notes__)  # ... hint: pip install 'toolcrib[agent]'
else:
    assert CribToolset.__name__ == "CribToolset"
