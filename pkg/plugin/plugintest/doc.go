// Package plugintest holds helpers for the tests of the plugin's packages. Golden compares output with a file.
package plugintest
