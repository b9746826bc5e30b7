// Style sheets are bundled into the page.
declare module "*.css";
