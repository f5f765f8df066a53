package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

// signalContext returns a context that is done at the first SIGTERM or SIGINT, which requests a graceful shutdown. A second signal ends the
// process at once.
func signalContext() context.Context {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		logger := klog.FromContext(ctx)
		logger.Info("Shutting down; a second signal ends the process at once", "signal", <-signals)
		cancel()
		logger.Info("Exiting at once", "signal", <-signals)
		klog.Flush()
		os.Exit(exitFailure)
	}()
	return ctx
}
