package bag

import "errors"

// abandon closes a bag that nobody will read: nothing is finished, synced or compressed.
func (w *Writer) abandon() error {
	w.mu.Lock()
	if w.sealed {
		w.mu.Unlock()
		return ErrSealed
	}
	w.sealed = true
	files := w.files
	w.mu.Unlock()
	close(w.stop)
	w.running.Wait()
	w.release()
	errs := []error{w.directory.Close()}
	for _, p := range files {
		errs = append(errs, p.writer.Close())
	}
	return errors.Join(errs...)
}
