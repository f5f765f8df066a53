// Package audit reads the API server's audit log: who has asked for what, when, and what the answer was. The campaigns and the end-to-end
// tests count requests with it, and judge them.
//
//	log.go      the log, from a position on
//	request.go  one request
package audit
