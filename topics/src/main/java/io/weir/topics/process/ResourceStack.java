// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The open resources of a process. They are closed in the reverse order of their opening. A failure
 * to close one resource does not keep the others open. Each resource is closed once. Not
 * thread-safe.
 */
public final class ResourceStack implements AutoCloseable {
  /** The open resources; the last one is closed first. */
  private final List<AutoCloseable> open = new ArrayList<>();

  /**
   * Adds a resource, which is closed before all resources added so far.
   *
   * @return the resource
   */
  public <T extends AutoCloseable> T push(T resource) {
    open.add(resource);
    return resource;
  }

  /**
   * Adds a resource, which is closed directly after another one.
   *
   * @param upper a resource of this stack
   * @return the added resource
   */
  public <T extends AutoCloseable> T pushBelow(AutoCloseable upper, T resource) {
    open.add(open.indexOf(upper), resource);
    return resource;
  }

  /**
   * Closes all resources.
   *
   * @param failures receives each exception of a resource
   */
  public void closeAll(Consumer<? super Exception> failures) {
    while (!open.isEmpty()) {
      try {
        open.remove(open.size() - 1).close();
      } catch (Exception failed) {
        failures.accept(failed);
      }
    }
  }

  /**
   * Closes all resources.
   *
   * @throws IllegalStateException after all were closed, if any failed; the exceptions of the
   *     resources are its suppressed exceptions
   */
  @Override
  public void close() {
    IllegalStateException failed = new IllegalStateException("could not close all resources");
    closeAll(failed::addSuppressed);
    if (failed.getSuppressed().length > 0) {
      throw failed;
    }
  }
}
