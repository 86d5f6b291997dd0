// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import java.util.List;

/** The header fields of a request, or its metadata. */
public interface RequestHeaders {
  /** Returns the values of all fields of a name, in order; the name is in lower case. */
  List<String> values(String name);
}
