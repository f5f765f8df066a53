package status

// What only tests look at from outside.

var IsNews = isNews
