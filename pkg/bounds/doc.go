// Package bounds decodes objects that other clients have written, with memory and time limited by the size of their JSON.
//
// Some JSON is expensive to decode. The quantity 1e-999999999, 12 bytes long, becomes a number of a billion digits. A list of empty objects
// becomes structs of hundreds of bytes each. The schema of the CRD rejects both, but it does not always apply: an object may be older than
// the schema, an administrator may have edited the CRD, and any client that reaches a webhook's port can send it a request. So before
// anything is decoded, a scan compares the bytes with the Go type, and rejects what would cost too much. Code that needs only parts of an
// object, such as a conversion, iterates over it with Fields and Elements, and decodes nothing.
//
// Start with bounds.go: Unmarshal, Check and the limits. scanner.go is the scan, and rejects quantities with long exponents. parts.go has Fields and
// Elements. cache.go keeps what was derived from texts, limited by their length.
package bounds
