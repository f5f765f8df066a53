// Package clients connects to the API server.
//
// Start with clients.go: Connect creates the clients, with their rate limits and encodings. kubeconfig.go finds the API server. served.go
// checks that it serves PodManagers, and explains what to do if it does not. features.go logs which features it lacks, contact.go records
// when it last answered, clock.go has its time, and policies.go checks whether the rules of artifacts/policy.yaml are in force.
//
// pkg/controller decides what to read and write with the clients.
package clients
