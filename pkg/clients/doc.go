// Package clients connects to the API server.
//
// Start with clients.go: Connect makes the clients, with their rate limits and encodings. kubeconfig.go finds the API server. served.go
// checks that it serves PodManagers, and says what to do if it does not. features.go logs what it lacks, and contact.go records when it
// last answered.
//
// What the controller reads and writes with the clients is in pkg/controller.
package clients
