// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import java.util.List;

/** The header fields of an HTTP request, or the metadata of a gRPC request. */
public interface RequestHeaders {
  /**
   * Returns the values of all fields with the given name, in order. The name must be in lower case.
   */
  List<String> values(String name);
}
