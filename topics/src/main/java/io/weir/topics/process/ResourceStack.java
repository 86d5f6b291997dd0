// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The open resources of a process. The stack closes the resources in the reverse order of their
 * opening. If the close of one resource fails, the stack still closes the other resources. Each
 * resource is closed once. Not thread-safe.
 */
public final class ResourceStack implements AutoCloseable {
  /** The open resources; the last resource is closed first. */
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
   * Adds a resource, which is closed directly after another resource.
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
   * @throws IllegalStateException if the close of a resource failed, after the stack has closed all
   *     resources; the suppressed exceptions are the exceptions of the resources
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
