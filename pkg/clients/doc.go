// Package clients connects to the API server.
//
// Start with clients.go: Connect makes the clients, with their rate limits and encodings. kubeconfig.go finds the API server. served.go
// checks that it serves PodManagers, and says what to do if it does not. features.go logs what it lacks, contact.go records when it last
// answered, and policies.go looks whether the rules of artifacts/policy.yaml are in force.
//
// What the controller reads and writes with the clients is in pkg/controller.
package clients
