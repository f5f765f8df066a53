package webhook

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// dial connects to the server, with or without TLS.
func (s *testServer) dial(isEncrypted bool) net.Conn {
	s.t.Helper()
	connection, err := net.Dial("tcp", s.Address())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { connection.Close() })
	if isEncrypted {
		encrypted := tls.Client(connection, &tls.Config{InsecureSkipVerify: true})
		if err := encrypted.Handshake(); err != nil {
			s.t.Fatal(err)
		}
		return encrypted
	}
	return connection
}

// awaitClosed waits until the server closes a connection, and returns how long that took.
func awaitClosed(t *testing.T, connection net.Conn) time.Duration {
	t.Helper()
	started := time.Now()
	if err := connection.SetReadDeadline(started.Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, err := io.Copy(io.Discard, connection)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is still open after %v", patience)
	}
	return time.Since(started)
}

// A client that sends slowly or not at all is disconnected when its time is up, whatever it sends. Others are served in the meantime.
func TestSlowClients(t *testing.T) {
	tests := map[string]struct {
		isEncrypted bool
		begins      string // sent at once
		slowly      string // sent byte by byte
		least       time.Duration
	}{
		"says nothing":          {false, "", "", 0},
		"half of a handshake":   {false, "\x16\x03\x01\x02\x00", strings.Repeat("\x01", 1000), 0},
		"says nothing over TLS": {true, "", "", 0},
		"a slow header":         {true, "POST /echo HTTP/1.1\r\n", strings.Repeat("a: b\r\n", 1000), 0},
		"a slow body": {true, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n",
			strings.Repeat("a", 1000), testLimits.Header},
		"a slow body in chunks": {true, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
			strings.Repeat("1\r\na\r\n", 1000), testLimits.Header},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, testLimits)
			connection := s.dial(test.isEncrypted)
			if _, err := io.WriteString(connection, test.begins); err != nil {
				t.Fatal(err)
			}
			go func() {
				for i := range test.slowly {
					if _, err := io.WriteString(connection, test.slowly[i:i+1]); err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			}()
			s.expectEcho("beside the slow client")
			if took := awaitClosed(t, connection); took < test.least/2 {
				t.Errorf("the client was disconnected after %v, before its time was up", took)
			}
			if waiting := s.handler.reading.Load(); waiting != 0 {
				t.Errorf("%d bytes of the client's request are still counted", waiting)
			}
			s.expectEcho("afterwards")
		})
	}
}

// Plain HTTP gets a plain error response. Old TLS versions and garbage get none. None of these clients locks out others.
func TestNoTLS(t *testing.T) {
	s := startServer(t, testLimits)
	plain := s.dial(false)
	if _, err := io.WriteString(plain, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(plain).ReadString('\n')
	if err != nil || !strings.Contains(line, "400") {
		t.Errorf("plain HTTP got %q, error %v; want 400", line, err)
	}
	garbage := s.dial(false)
	if _, err := garbage.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	awaitClosed(t, garbage)
	old := tls.Client(s.dial(false), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if err := old.Handshake(); err == nil {
		t.Error("the server accepts TLS 1.1")
	}
	if version := s.dial(true).(*tls.Conn).ConnectionState().Version; version != tls.VersionTLS13 {
		t.Errorf("the TLS version is %x, want 1.3", version)
	}
	s.expectEcho("afterwards")
}

// The number of idle connections is limited, and they do not lock out other clients.
func TestIdleConnectionsBounded(t *testing.T) {
	limits := testLimits
	limits.Header, limits.Body = time.Hour, time.Hour // timeouts must not end them
	s := startServer(t, limits)
	const many = 5
	var idle []net.Conn
	for i := range many * limits.Connections {
		idle = append(idle, s.dial(i%2 == 0))
		if i%10 == 0 {
			s.expectEcho("beside idle connections")
		}
	}
	s.expectEcho("beside all of them")
	closed := make(chan struct{}, len(idle))
	for _, connection := range idle {
		go func() {
			_, _ = io.Copy(io.Discard, connection)
			closed <- struct{}{}
		}()
	}
	late := time.After(patience)
	for i := range len(idle) - limits.Connections {
		select {
		case <-closed:
		case <-late:
			t.Fatalf("%d idle connections are open, want at most %d", len(idle)-i, limits.Connections)
		}
	}
}

// Busy connections are never closed in favour of idle ones.
func TestBusyConnectionsStay(t *testing.T) {
	s := startServer(t, testLimits)
	answers := make(chan error)
	for range testLimits.Connections - 1 {
		go func() {
			_, _, err := s.ask("POST", "/wait", "application/json", strings.NewReader(`{}`))
			answers <- err
		}()
	}
	s.await("busy connections", func() bool { return int(s.waiting.Load()) == testLimits.Connections-1 })
	for range 3 * testLimits.Connections {
		s.dial(false)
	}
	s.expectEcho("beside busy connections")
	close(s.release)
	for range testLimits.Connections - 1 {
		if err := <-answers; err != nil {
			t.Errorf("a request in progress failed: %v", err)
		}
	}
}

// Clients that take all connections and do not finish their requests do not lock out the API server.
func TestUnfinishedRequestsMakeRoom(t *testing.T) {
	const header = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
	tests := map[string][]string{
		"one byte of a handshake": {""},
		"one byte of a header":    {"P"},
		"one byte of a body":      {header + "Content-Length: 10000\r\n\r\n{"},
		"one byte of a chunk":     {header + "Transfer-Encoding: chunked\r\n\r\n10\r\n{"},
		"only a header":           {header + "Content-Length: 10000\r\nExpect: 100-continue\r\n\r\n"},
		"a body that is not read": {"GET /other HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n{"},
		"all but the last byte of a second request": {
			header + "Content-Length: 2\r\n\r\n{}" + header + "Content-Length: 2\r\n\r\n{"},
		"some of each": {"", "P", header + "Content-Length: 10000\r\n\r\n{"},
	}
	limits := testLimits
	limits.Header, limits.Body, limits.Connections = time.Hour, time.Hour, 24 // timeouts must not end them
	for name, begins := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, limits)
			for i := range limits.Connections {
				begin := begins[i%len(begins)]
				connection := s.dial(begin != "")
				if begin == "" {
					begin = "\x16"
				}
				if _, err := io.WriteString(connection, begin); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(100 * time.Millisecond) // give the server time to read
			s.client.Timeout = 5 * time.Second
			answers := make(chan error)
			for range 20 {
				go func() {
					code, body, err := s.ask("POST", "/echo", "application/json", strings.NewReader(`{}`))
					if err == nil && (code != 200 || body != "{}") {
						err = fmt.Errorf("code %d, body %q", code, body)
					}
					answers <- err
				}()
			}
			for range 20 {
				if err := <-answers; err != nil {
					t.Errorf("a complete request failed: %v", err)
				}
			}
		})
	}
}
