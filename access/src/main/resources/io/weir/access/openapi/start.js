// SPDX-License-Identifier: Apache-2.0
window.SwaggerUIBundle({
  dom_id: '#api',
  url: 'openapi.json',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // nothing is sent to another host
  validatorUrl: null,
});
