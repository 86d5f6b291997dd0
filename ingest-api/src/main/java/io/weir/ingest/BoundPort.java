// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import java.net.BindException;
import java.net.SocketException;
import java.nio.channels.UnresolvedAddressException;

/**
 * A port that a node binds.
 *
 * @param owner the server that uses the port, as named in messages
 * @param hostVariable the environment variable that sets the host
 * @param portVariable the environment variable that sets the port
 */
record BoundPort(String owner, String host, String hostVariable, int port, String portVariable) {
  /** Returns the port of the check API. */
  static BoundPort ofCheckApi(IngestConfig config) {
    return new BoundPort(
        "the check API", config.httpHost(), "WEIR_HTTP_HOST", config.httpPort(), "WEIR_HTTP_PORT");
  }

  /**
   * Returns an exception that states why the port could not be bound. Returns the given failure
   * itself if no known cause explains it.
   */
  RuntimeException explain(RuntimeException failed) {
    if (failed instanceof IngestStartException) {
      return failed;
    }
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      String reason = reason(cause);
      if (!reason.isEmpty()) {
        return new IngestStartException(reason, failed);
      }
    }
    return failed;
  }

  private String reason(Throwable cause) {
    String message = String.valueOf(cause.getMessage());
    if (cause instanceof UnresolvedAddressException) {
      return "cannot resolve host " + host + " (" + hostVariable + ")";
    }
    if (cause instanceof SocketException && message.contains("Permission denied")) {
      return "this user is not permitted to bind port "
          + port
          + " for "
          + owner
          + "; set "
          + portVariable
          + " to a port above 1023";
    }
    if (cause instanceof BindException && message.contains("assign requested address")) {
      return "this machine has no address " + host + " (" + hostVariable + ")";
    }
    if (cause instanceof BindException) {
      return "port "
          + port
          + " for "
          + owner
          + " is in use; set "
          + portVariable
          + " to another port, or to 0 for any free port";
    }
    return "";
  }
}
