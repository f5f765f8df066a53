package apiserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	bookmarkInterval = time.Minute
	// lastBookmark is how long before the end of a watch its last bookmark is sent.
	lastBookmark = 2 * time.Second
	// shortestWatch is the minimum duration of a watch without a timeout. Such a watch lasts up to twice as long.
	shortestWatch = 30 * time.Minute
)

// Stream is one watch of a client, and the body of its answer. Reads block until there is an event.
type Stream struct {
	request  *Request
	server   *Server
	selected selection
	ctx      context.Context // done when the client has given up
	// after is the last version that the client has already seen.
	after     int64
	bookmarks bool
	bookmark  time.Time // when the next one is due
	deadline  time.Time
	wake      chan struct{}
	unread    []byte // the rest of a line

	// The server's lock guards these.
	lines    [][]byte
	isPaused bool
	end      error // what the client reads after the lines
}

// line identifies an encoded event of a change.
type line struct {
	event watch.EventType
	view  view
}

func (s *Server) watch(ctx context.Context, r *Request) (*answer, error) {
	selected, err := newSelection(r)
	if err != nil {
		return nil, err
	}
	version, err := parseVersion(r)
	if err != nil {
		return nil, err
	}
	initial := r.query.Get("sendInitialEvents")
	if initial != "" && r.query.Get("resourceVersionMatch") != string(metav1.ResourceVersionMatchNotOlderThan) {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", field.ErrorList{
			field.Forbidden(field.NewPath("resourceVersionMatch"), "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")})
	}
	stream := &Stream{
		request: r, server: s, selected: selected, ctx: ctx, wake: make(chan struct{}, 1), bookmarks: isTrue(r.query.Get("allowWatchBookmarks")),
	}
	var late error
	if isTrue(initial) {
		late = s.awaitVersion(ctx, version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	timeout, _ := strconv.Atoi(r.query.Get("timeoutSeconds"))
	lasts := time.Duration(timeout) * time.Second
	if timeout <= 0 {
		lasts = shortestWatch + time.Duration(s.rand.Float64()*float64(shortestWatch))
	}
	stream.deadline = time.Now().Add(lasts)
	stream.scheduleBookmark()
	t := s.tables[r.Resource.storage()]
	switch {
	case late != nil:
		stream.fail(late)
	case isTrue(initial) || initial == "" && version == 0:
		stream.start(t, isTrue(initial))
	case version == 0:
		stream.after = s.version
	case version < s.watchable:
		stream.fail(tooOld(version, s.watchable))
	default:
		stream.resume(t, version)
	}
	t.streams = append(t.streams, stream)
	return &answer{code: http.StatusOK, stream: stream, view: r.view}, nil
}

func tooOld(version, oldest int64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, oldest))
}

// start sends the present state as initial events.
func (s *Stream) start(t *table, marksEnd bool) {
	s.after = s.server.version
	for _, o := range t.objects {
		if s.selected.matches(o) {
			s.lines = append(s.lines, s.selected.view.encodeEvent(watch.Added, o.in(s.selected.view)))
		}
	}
	if marksEnd && s.bookmarks {
		s.sendBookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
}

// resume sends the changes since a version.
func (s *Stream) resume(t *table, version int64) {
	s.after = version
	first, _ := slices.BinarySearchFunc(t.history, version+1, func(c *Change, version int64) int { return int(c.Version - version) })
	for _, c := range t.history[first:] {
		s.see(c)
	}
}

// see handles a change. With a selector, an object is added when it starts to match, and deleted when it stops.
func (s *Stream) see(c *Change) {
	if c.Version <= s.after || s.end != nil {
		return
	}
	was, is := s.selected.matches(c.old), s.selected.matches(c.new)
	switch {
	case is && !was:
		s.send(c, watch.Added, c.new)
	case is:
		s.send(c, watch.Modified, c.new)
	case was:
		s.send(c, watch.Deleted, c.departed())
	}
}

// send appends an event. Each event is encoded once for all streams.
func (s *Stream) send(c *Change, event watch.EventType, o *object) {
	id := line{event, s.selected.view}
	if c.lines[id] == nil {
		if c.lines == nil {
			c.lines = map[line][]byte{}
		}
		c.lines[id] = id.view.encodeEvent(event, o.in(id.view))
	}
	s.push(c.lines[id])
}

func (s *Stream) push(encoded []byte) {
	s.lines = append(s.lines, encoded)
	s.wakeUp()
}

func (s *Stream) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default: // a wakeup is pending already
	}
}

func (s *Stream) sendBookmark(annotations map[string]string) {
	var mark Object = &unstructured.Unstructured{Object: map[string]any{}}
	if s.request.Resource.schema == nil {
		mark = s.request.Resource.newTyped()
	}
	mark.GetObjectKind().SetGroupVersionKind(s.request.Resource.GroupVersionKind)
	mark.SetResourceVersion(strconv.FormatInt(max(s.server.version, s.after), 10))
	mark.SetAnnotations(annotations)
	s.lines = append(s.lines, s.selected.view.encodeEvent(watch.Bookmark, s.selected.view.encode(mark)))
}

func (s *Stream) scheduleBookmark() {
	s.bookmark = time.Now().Add(bookmarkInterval)
	if last := s.deadline.Add(-lastBookmark); last.Before(s.bookmark) && time.Now().Before(last) {
		s.bookmark = last
	}
}

// fail ends the stream with an error event.
func (s *Stream) fail(err error) {
	status := encode(statusOf(err))
	if s.selected.view == inProtobuf {
		status = inProtobuf.encode(statusOf(err))
	}
	s.push(s.selected.view.encodeEvent(watch.Error, status))
	s.end = io.EOF
}

// cut ends the stream at once. Unread events are lost.
func (s *Stream) cut(err error) {
	s.lines, s.isPaused, s.end = nil, false, err
	s.leave()
	s.wakeUp()
}

func (s *Stream) leave() {
	t := s.server.tables[s.request.Resource.storage()]
	t.streams = slices.DeleteFunc(t.streams, func(other *Stream) bool { return other == s })
}

// Request returns the request that started the watch.
func (s *Stream) Request() *Request { return s.request }

// HasEnded reports whether no more events will be added.
func (s *Stream) HasEnded() bool {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.end != nil
}

// Pause holds back events, bookmarks and the end of the stream until Resume is called. No event is lost.
func (s *Stream) Pause() { s.setPaused(true) }

// Resume ends a pause.
func (s *Stream) Resume() { s.setPaused(false) }

func (s *Stream) setPaused(isPaused bool) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.isPaused = isPaused
	s.wakeUp()
}

// Cut ends the stream at once: with io.EOF as if the server had ended it, or with another error as if the connection had broken. Unread events are
// lost.
func (s *Stream) Cut(err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.cut(err)
}

// Expire ends the stream with 410, so that the client has to list again.
func (s *Stream) Expire() {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.lines, s.isPaused = nil, false
	s.fail(tooOld(s.after, s.server.version))
}

// Close implements io.Closer for the client.
func (s *Stream) Close() error {
	s.Cut(io.ErrClosedPipe)
	return nil
}

// Read implements io.Reader for the client. It blocks until the next event.
func (s *Stream) Read(buffer []byte) (int, error) {
	for len(s.unread) == 0 {
		wait, err := s.next()
		if err != nil {
			return 0, err
		}
		if wait == 0 {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-s.wake:
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			_ = s.Close()
			return 0, s.ctx.Err()
		}
		timer.Stop()
	}
	n := copy(buffer, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// next takes the next line. If there is none, it returns how long to wait for it.
func (s *Stream) next() (time.Duration, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	now := time.Now()
	if s.isPaused {
		return shortestWatch, nil
	}
	if len(s.lines) == 0 && s.end == nil && s.bookmarks && !now.Before(s.bookmark) {
		s.sendBookmark(nil)
		s.scheduleBookmark()
	}
	switch {
	case len(s.lines) > 0:
		s.unread, s.lines = s.lines[0], s.lines[1:]
		s.server.reseed()
		return 0, nil
	case s.end == nil && !now.Before(s.deadline):
		s.end = io.EOF
	}
	if s.end != nil {
		s.leave()
		return 0, s.end
	}
	until := s.deadline
	if s.bookmarks && s.bookmark.Before(until) {
		until = s.bookmark
	}
	return until.Sub(now), nil
}
