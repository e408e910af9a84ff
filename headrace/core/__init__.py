"""What everything else stands on: errors, settings, quantities, codecs, Java and its jars."""
