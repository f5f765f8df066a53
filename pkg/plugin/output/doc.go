// Package output prints objects for scripts: -o json, yaml, name and jsonpath=TEMPLATE have the same meaning as in kubectl.
package output
