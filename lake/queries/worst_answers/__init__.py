"""The worst answers since an onset beside good ones: what is compared, and the words that tell them apart."""
