// Package argocd tests artifacts/integrations/argocd with Argo CD's own Lua library: the health of all states of hack/sim/states, which actions are
// offered in which of them, what each action changes, and the ConfigMap that installs all of it.
//
// The Lua scripts run as in Argo CD's API server: without the libraries string, math and io, and with a part of os.
package argocd
