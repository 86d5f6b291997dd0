// SPDX-License-Identifier: Apache-2.0
/** The descriptions of both HTTP APIs in OpenAPI 3.1, and the pages that show the descriptions. */
@NullMarked
package io.weir.access.openapi;

import org.jspecify.annotations.NullMarked;
