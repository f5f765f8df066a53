package main

import (
	"errors"
	"io"
	"log"
	"net"
	"syscall"
	"time"
)

// forward forwards connections from one address to another. TLS passes through unchanged: the API server's certificate contains the address that
// pods use.
func forward(from, to string) error {
	listener, err := listen(from)
	if err != nil {
		return err
	}
	log.Printf("Forwarding %s to %s", from, to)
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				log.Fatalf("supervisor: accepting on %s: %v", from, err)
			}
			go connect(in.(*net.TCPConn), to)
		}
	}()
	return nil
}

// listen retries for a while if the address is in use: an earlier node may have been killed, and may not be completely gone.
func listen(address string) (net.Listener, error) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		listener, err := net.Listen("tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return listener, err
		}
	}
}

// connect joins two connections until both directions have ended. It passes on the closing of one direction. Otherwise a watch whose client has
// left would live as long as the API server.
func connect(in *net.TCPConn, to string) {
	defer in.Close()
	dialed, err := net.DialTimeout("tcp", to, 5*time.Second)
	if err != nil {
		return // the API server is down: the pod sees a closed connection and retries
	}
	out := dialed.(*net.TCPConn)
	defer out.Close()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.CloseWrite()
		close(done)
	}()
	_, _ = io.Copy(in, out)
	_ = in.CloseWrite()
	<-done
}
