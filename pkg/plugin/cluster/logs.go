package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxLogLine is how many bytes of a log line are shown. The rest of the line is dropped.
const maxLogLine = 16 << 10

// LogStream is the log of one container.
type LogStream struct{ Pod, Container string }

// LogStreams returns the streams of pods: of the named container, or of all containers but init containers.
func LogStreams(pods []*corev1.Pod, container string) (streams []LogStream) {
	for _, pod := range pods {
		for _, each := range pod.Spec.Containers {
			if container == "" || each.Name == container {
				streams = append(streams, LogStream{pod.Name, each.Name})
			}
		}
		for _, each := range pod.Spec.InitContainers {
			if each.Name == container {
				streams = append(streams, LogStream{pod.Name, each.Name})
			}
		}
	}
	return streams
}

// CopyLogs copies streams to out, all at once, with the names of pod and container in front of each line. It returns an error for each
// stream that cannot be read; the others go on. If the user lacks the right, the error is one, with advice.
func (c *Cluster) CopyLogs(ctx context.Context, streams []LogStream, options corev1.PodLogOptions, out io.Writer) error {
	lines := &lineWriter{out: out}
	failed := make([]error, len(streams))
	var all sync.WaitGroup
	for i, stream := range streams {
		own := options
		own.Container = stream.Container
		all.Go(func() {
			if err := c.copyLog(ctx, stream.Pod, &own, lines); err != nil && ctx.Err() == nil {
				failed[i] = fmt.Errorf("%s/%s: %w", stream.Pod, stream.Container, err)
			}
		})
	}
	all.Wait()
	if at := slices.IndexFunc(failed, apierrors.IsForbidden); at >= 0 {
		return forbidden(failed[at], c.Namespace) // the same right is missing for all of them
	}
	return errors.Join(failed...)
}

func (c *Cluster) copyLog(ctx context.Context, pod string, options *corev1.PodLogOptions, lines *lineWriter) error {
	stream, err := c.Kube.CoreV1().Pods(c.Namespace).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	reader := bufio.NewReaderSize(stream, maxLogLine)
	isContinued := false
	for {
		line, isPrefix, err := reader.ReadLine()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !isContinued:
			if err := lines.write(pod, options.Container, line); err != nil {
				return err
			}
		}
		isContinued = isPrefix
	}
}

// lineWriter writes whole lines of several streams.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lineWriter) write(pod, container string, line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := fmt.Fprintf(w.out, "[%s/%s] %s\n", pod, container, line)
	return err
}
