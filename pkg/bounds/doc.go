// Package bounds decodes objects that others have written, at a cost that their size bounds.
//
// Some JSON is dear to decode. A quantity of 12 bytes, 1e-999999999, becomes a number of a billion digits. A list of empty objects becomes
// structs of hundreds of bytes each. The schema of the CRD refuses both, but it is not always there to do so: an object may be older than
// the schema, the CRD may have been edited, and a webhook is asked by whoever reaches its port. So before anything is decoded, a scan over
// the bytes compares them with the Go type, and refuses what would cost too much. What needs only parts of an object, such as a conversion, goes
// through it with Fields and Elements, and decodes nothing.
package bounds
