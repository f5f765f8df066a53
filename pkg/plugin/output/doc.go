// Package output prints objects for programs: -o json, yaml, name and jsonpath=TEMPLATE, with the meaning that they have in kubectl.
package output
