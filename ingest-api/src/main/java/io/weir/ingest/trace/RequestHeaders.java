// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import java.util.List;

/** The header fields of a request, or its metadata. */
public interface RequestHeaders {
  /** Returns the values of all fields of a name, which is in lower case; in their order. */
  List<String> values(String name);
}
