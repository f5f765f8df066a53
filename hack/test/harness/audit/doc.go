// Package audit reads the API server's audit log: which user requested what and when, and what the answer was. The campaigns and the end-to-end
// tests use it to count and check requests.
//
//	log.go      the log, from a position onwards
//	request.go  one request
package audit
