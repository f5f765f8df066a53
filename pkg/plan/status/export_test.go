package status

// Unexported identifiers that the external tests use.

var IsNews = isNews
