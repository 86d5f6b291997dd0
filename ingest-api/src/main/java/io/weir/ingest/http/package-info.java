// SPDX-License-Identifier: Apache-2.0
/**
 * The check API over HTTP: routes, parsing, response headers, problem documents. No other package
 * of this module depends on Javalin.
 */
@NullMarked
package io.weir.ingest.http;

import org.jspecify.annotations.NullMarked;
